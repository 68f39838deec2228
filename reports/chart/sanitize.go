package chart

import (
	"fmt"
	"reflect"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
)

// Limits, in characters, of drawn texts from a file: the charts make room for names.
const (
	MostName = 36   // of locks, rows, columns
	MostText = 2000 // of sentences
)

// limits are the lengths of texts by field. Other texts are sentences; 0 is not drawn.
var limits = map[string]int{
	"Name": MostName, "Family": MostName, "Status": MostName, "Needs": MostName, "Wait": MostName, "Pin": MostName, "Section": MostName,
	"Clock": MostName, "Rule": MostName, "Kind": MostName, "Conditions": MostName, "Version": MostName, "FileSystem": MostName,
	"Commit": MostName, "Simulated": MostName, "Unit": MostName, "Figure": MostName,
	"Mix": 2 * MostName, "Scenario": 2 * MostName, "Label": 2 * MostName, "Histories": 0,
}

// Sanitize returns run with texts of one line and limited length. Names stay unique and contain
// the status of an unsound lock. Unchanged parts are shared with run. Sanitize must not be
// applied to its own result.
func Sanitize(run *result.Run) *result.Run {
	t := sanitizer{make(map[string]string), make(map[reflect.Type]bool)}
	out := *run
	out.Results, out.Damage, out.Faults, out.Chaos = sanitized(t, run.Results), sanitized(t, run.Damage), sanitized(t, run.Faults), sanitized(t, run.Chaos)
	out.Simulations, out.Findings = sanitized(t, run.Simulations), sanitized(t, run.Findings)
	m := &out.Manifest
	m.Warnings, m.Skipped, m.Sites = sanitized(t, m.Warnings), sanitized(t, m.Skipped), sanitized(t, m.Sites)
	return &out
}

type sanitizer struct {
	locks map[string]string     // the names of the locks
	texts map[reflect.Type]bool // whether a type has texts
}

func sanitized[T any](t sanitizer, v T) T {
	return t.sanitize(reflect.ValueOf(v), MostText).Interface().(T)
}

// sanitize returns a copy of v whose texts have at most most characters, or the limits of their
// fields.
func (t sanitizer) sanitize(v reflect.Value, most int) reflect.Value {
	if !t.hasText(v.Type()) || most == 0 {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(Short(v.String(), most))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(t.sanitize(v.Elem(), most).Addr())
		}
	case reflect.Slice:
		out.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		for i := range v.Len() {
			out.Index(i).Set(t.sanitize(v.Index(i), most))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			limit, known := limits[v.Type().Field(i).Name]
			if !known {
				limit = most
			}
			if f := out.Field(i); f.CanSet() {
				f.Set(t.sanitize(v.Field(i), limit))
			}
		}
		t.unique(v, out)
	}
	return out
}

func (t sanitizer) unique(v, out reflect.Value) {
	switch x := out.Addr().Interface().(type) {
	case *harness.Lock:
		x.Name = MarkedName(shortName(t.locks, v.Interface().(harness.Lock).Name), x.Status)
	case *result.Skip:
		x.Lock = shortName(t.locks, v.Interface().(result.Skip).Lock)
	case *result.Table:
		names := make(map[string]string)
		for i, col := range v.Interface().(result.Table).Columns {
			x.Columns[i].Name = shortName(names, col.Name)
		}
	}
}

func (t sanitizer) hasText(u reflect.Type) bool {
	if has, known := t.texts[u]; known {
		return has
	}
	t.texts[u] = false // of a type that contains itself
	has := u.Kind() == reflect.String
	switch u.Kind() {
	case reflect.Pointer, reflect.Slice:
		has = t.hasText(u.Elem())
	case reflect.Struct:
		for i := range u.NumField() {
			has = u.Field(i).IsExported() && t.hasText(u.Field(i).Type) || has
		}
	}
	t.texts[u] = has
	return has
}

// Short returns text as a line of at most most characters.
func Short(text string, most int) string {
	text = result.OneLine(text)
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func ShortAll(texts []string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		out[i] = Short(t, MostText)
	}
	return out
}

// shortName is short for a name that it adds to names, numbered if not unique.
func shortName(names map[string]string, name string) string {
	if s, known := names[name]; known {
		return s
	}
	taken := func(s string) bool {
		for _, other := range names {
			if other == s {
				return true
			}
		}
		return false
	}
	s := Short(name, MostName)
	for n := 2; s != name && taken(s); n++ {
		s = fmt.Sprintf("%s %d", Short(name, MostName-4), n)
	}
	names[name] = s
	return s
}
