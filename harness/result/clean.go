package result

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns text as one inert line. Line ends and tabs become spaces. Characters that
// a terminal or a page would interpret instead of showing, such as ESC, control
// characters and changes of the writing direction, become Go escapes. Line is idempotent.
func OneLine(text string) string {
	if printable(text) {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			out.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case strings.ContainsRune("\t\n\v\f\r\u0085\u2028\u2029", r):
			out.WriteByte(' ')
		case !unicode.IsGraphic(r):
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r == '\u2028' || r == '\u2029' })
}

func lines(text string) string {
	all := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	return strings.Join(Each(all, OneLine), "\n")
}

// clean applies Line to every text in the value that v points to. Exceptions are
// listings, which have several lines, and the flags of a command, which are parsed again.
// So a program that prints a file prints only text.
func clean(v any) { cleanValue(reflect.ValueOf(v)) }

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(OneLine(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case !f.IsExported() || f.Name == "Flags":
			case f.Name == "Listing":
				v.Field(i).SetString(lines(v.Field(i).String()))
			default:
				cleanValue(v.Field(i))
			}
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map:
			for i := range v.Len() {
				cleanValue(v.Index(i))
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			value := v.MapIndex(k)
			if value.Kind() == reflect.String {
				value = reflect.ValueOf(OneLine(value.String())).Convert(v.Type().Elem())
			}
			v.SetMapIndex(k, reflect.Value{})
			v.SetMapIndex(reflect.ValueOf(OneLine(k.String())).Convert(v.Type().Key()), value)
		}
	}
}
