package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// replace returns text with the module's path replaced. In a go.mod it replaces every
// word that is the path, or begins with it and a slash. Elsewhere the word could be the
// name of the command or of a node, and the following text decides.
func (m tree) replace(text, path string, mod bool) string {
	old := regexp.QuoteMeta(m.path)
	if mod {
		return substitute(text, regexp.MustCompile(`(?m)(^|[\s"])(`+old+`)(?:$|[\s"/@])`), path)
	}
	folders := make([]string, len(m.folders))
	for i, f := range m.folders {
		folders[i] = regexp.QuoteMeta(f)
	}
	// The text before it must not be part of a longer path.
	const before = `(^|[^\w./~-])`
	text = substitute(text, regexp.MustCompile(before+`(`+old+`)/(?:`+strings.Join(folders, "|")+`)(?:$|[^\w-])`), path)
	text = substitute(text, regexp.MustCompile(before+`(`+old+`)@v\d`), path)
	return substitute(text, regexp.MustCompile(`(\breplace[ =]|\brequire[ =]|\bdroprequire=|\bdropreplace=)(`+old+`)(?:=|\s|$)`), path)
}

// substitute replaces the second group of every match, including matches that share a
// character with the previous one.
func substitute(text string, re *regexp.Regexp, path string) string {
	var out strings.Builder
	for {
		at := re.FindStringSubmatchIndex(text)
		if at == nil {
			return out.String() + text
		}
		out.WriteString(text[:at[4]])
		out.WriteString(path)
		text = text[at[5]:]
	}
}

var (
	elementRE = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$`)
	majorRE   = regexp.MustCompile(`^v[0-9]+$`)
	validRE   = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)
)

func (m tree) check(path string) error {
	if path == "" {
		return errors.New("a module path is wanted, such as example.org/you/locklab")
	}
	if strings.Contains(path, "://") || strings.HasSuffix(path, ".git") {
		return errors.New("it is an address; the path is what imports begin with, such as example.org/you/locklab")
	}
	elements := strings.Split(path, "/")
	for _, e := range elements {
		switch {
		case e == "":
			return errors.New("it has an empty element: a slash at its ends, or two in a row")
		case !elementRE.MatchString(e) || strings.HasSuffix(e, "."):
			return fmt.Errorf("the element %q is not of letters, digits and -_~., or begins or ends with a dot", e)
		case e == "internal" || e == "vendor" || e == "testdata":
			return fmt.Errorf("nothing outside it could import a module with the element %q", e)
		}
	}
	switch last := elements[len(elements)-1]; {
	case strings.HasPrefix(path, "-"):
		return errors.New("it begins with a dash")
	case majorRE.MatchString(last) && (len(elements) == 1 || !validRE.MatchString(last)):
		return fmt.Errorf("a path cannot end in the version %s", last)
	}
	return m.taken(path, elements[0])
}

func (m tree) taken(path, first string) error {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(goroot)), "src", first)); err == nil || slices.Contains([]string{"all", "main", "std", "tool", "work"}, first) {
		return fmt.Errorf("the go command means something else by %q", first)
	}
	if slices.Contains(m.requires, path) {
		return errors.New("a module that this one depends on has that path")
	}
	return nil
}
