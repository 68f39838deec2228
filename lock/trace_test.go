package lock

import (
	"reflect"
	"testing"
)

// TestWithTrace: an earlier Trace is called too, after the later one.
func TestWithTrace(t *testing.T) {
	var heard []string
	note := func(name string) *Trace {
		tr := new(Trace)
		for i := range reflect.TypeFor[Trace]().NumField() {
			f := reflect.ValueOf(tr).Elem().Field(i)
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				heard = append(heard, name+" "+reflect.TypeFor[Trace]().Field(i).Name)
				return nil
			}))
		}
		return tr
	}
	tr := reflect.ValueOf(TraceOf(WithTrace(WithTrace(WithTrace(nil, &Trace{}), note("outer")), note("inner")))).Elem() //lint:ignore SA1012 nil counts as Background
	for i := range tr.NumField() {
		heard = nil
		tr.Field(i).Call([]reflect.Value{reflect.Zero(tr.Field(i).Type().In(0))})
		name := tr.Type().Field(i).Name
		if len(heard) != 2 || heard[0] != "inner "+name || heard[1] != "outer "+name {
			t.Errorf("%s: heard %q, want inner and outer", name, heard)
		}
	}
}
