package simulate

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"locklab/internal/nearest"
)

const (
	maxCaches = 256 // cores of a machine
	maxSMT    = 8
	maxTime   = 1e6 // ns, of one access
)

// ErrMachine is wrapped by every error of a machine description.
var ErrMachine = errors.New("simulate: machine")

//go:embed machines/*.json
var machineFiles embed.FS

// List returns copies of the machines of the program, sorted by name.
func List() (all []*Machine) {
	files, _ := fs.Glob(machineFiles, "machines/*.json") // an error would be in the pattern
	for _, name := range files {
		b, err := machineFiles.ReadFile(name)
		m, wrong := Parse(b)
		if err := errors.Join(err, wrong); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err)) // TestMachines has read it
		}
		all = append(all, m)
	}
	return all
}

// Named returns the program's machine called name, or an error with the known names.
func Named(name string) (*Machine, error) {
	var names []string
	for _, m := range List() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return nil, machineError("no machine is named %q%s: choose of %s, or name a file", name, nearest.Hint(name, names), strings.Join(names, ", "))
}

// Load reads a machine from a file.
func Load(file string) (*Machine, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMachine, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20)) // a device may have no end
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMachine, err)
	}
	m, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// Parse reads a machine from JSON. It is strict: its error names an unknown, missing or wrong
// field, or a number without a source.
func Parse(b []byte) (*Machine, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, machineError("%s", jsonFault(b, err))
	}
	m := new(Machine)
	fields := machineFields(m)
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.ContainsFunc(fields, func(f machineField) bool { return f.name == name }) {
			return nil, machineError("no machine has a field %q", name)
		}
	}
	for _, f := range fields {
		text, ok := raw[f.name]
		switch {
		case !ok && f.optional:
		case !ok:
			return nil, machineError("%s is missing", f.name)
		default:
			if err := f.decode(text); err != nil {
				return nil, err
			}
		}
	}
	return m, m.Validate()
}

func machineError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMachine, fmt.Sprintf(format, args...))
}

func jsonFault(b []byte, err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(int(syntax.Offset), len(b))
		return fmt.Sprintf("line %d: %v", 1+bytes.Count(b[:at], []byte("\n")), err)
	}
	return "a machine is one object of JSON"
}

type machineField struct {
	name     string
	optional bool
	value    reflect.Value
}

func machineFields(m *Machine) []machineField {
	v := reflect.ValueOf(m).Elem()
	var fields []machineField
	for i := range v.NumField() {
		name, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields = append(fields, machineField{name: name, optional: rest == "omitempty", value: v.Field(i)})
	}
	return fields
}

func (f machineField) sourced() bool {
	switch f.value.Kind() {
	case reflect.Int, reflect.Float64, reflect.Array:
		return true
	case reflect.Bool:
		return !f.optional
	}
	return false
}

// decode reads the field, stricter than JSON: no list of another length, no null.
func (f machineField) decode(text json.RawMessage) error {
	if string(text) == "null" {
		return machineError("%s is null", f.name)
	}
	if f.value.Kind() == reflect.Array {
		var list []*float64
		if err := json.Unmarshal(text, &list); err != nil || slices.Contains(list, nil) || len(list) != f.value.Len() {
			return machineError("%s is not a list of %d numbers: other thread of the core, cluster, socket, another socket", f.name, f.value.Len())
		}
	}
	if err := json.Unmarshal(text, f.value.Addr().Interface()); err != nil {
		return machineError("%s: %.40q is not %s", f.name, text, map[reflect.Kind]string{
			reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Array: "a list of numbers",
			reflect.Bool: "true or false", reflect.String: "a text", reflect.Map: "an object of texts",
		}[f.value.Kind()])
	}
	return nil
}

type span struct{ lo, hi float64 }

// positive is the span of a time that cannot be 0.
var positive = span{math.SmallestNonzeroFloat64, maxTime}

var spans = map[string]span{
	"ghz": {0.1, 100}, "sockets": {1, maxCaches}, "clusters": {1, maxCaches}, "cores": {1, maxCaches}, "smt": {1, maxSMT},
	"hit": positive, "rmw": positive, "pause": positive, "transfer": positive, "shared": positive, "memory": positive, "occupy": positive,
	"window": {0, 1}, "sibling": {0, 100}, "favour": {0, 1000}, "jitter": {0, 0.9},
}

// Validate reports the first mistake in m.
func (m *Machine) Validate() error {
	if m.Name == "" || strings.ContainsAny(m.Name, "/\\ \t\n") {
		return machineError("name: %q is no word", m.Name)
	}
	if m.Doc == "" {
		return machineError("doc is empty: describe the machine that %s models", m.Name)
	}
	if m.Evidence != Fitted && m.Evidence != HeldOut && m.Evidence != LatenciesOnly {
		return machineError("evidence: %q is not %q, %q or %q", m.Evidence, Fitted, HeldOut, LatenciesOnly)
	}
	known := map[string]bool{}
	for _, f := range machineFields(m) {
		if !f.sourced() {
			continue
		}
		known[f.name] = true
		if err := f.within(); err != nil {
			return err
		}
		if strings.TrimSpace(m.Sources[f.name]) == "" {
			return machineError("sources: %s has none; name its source, or \"guess\" and the reason", f.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Sources)) {
		if !known[name] {
			return machineError("sources: %q is no number of a machine", name)
		}
	}
	if m.Caches() > maxCaches {
		return machineError("sockets, clusters, cores: %d cores in all, at most %d", m.Caches(), maxCaches)
	}
	return nil
}

func (f machineField) within() error {
	s, ok := spans[f.name]
	if !ok {
		s = span{0, maxTime}
	}
	check := func(name string, x float64) error {
		if !(x >= s.lo && x <= s.hi) { // also rejects NaN
			if s.lo == math.SmallestNonzeroFloat64 {
				return machineError("%s: %v is not above 0 and at most %v", name, x, s.hi)
			}
			return machineError("%s: %v is not from %v to %v", name, x, s.lo, s.hi)
		}
		return nil
	}
	switch f.value.Kind() {
	case reflect.Int:
		return check(f.name, float64(f.value.Int()))
	case reflect.Float64:
		return check(f.name, f.value.Float())
	case reflect.Bool:
		return nil
	}
	for i := range f.value.Len() {
		if err := check(fmt.Sprintf("%s[%d]", f.name, i), f.value.Index(i).Float()); err != nil {
			return err
		}
	}
	return nil
}
