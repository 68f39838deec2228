// Package files is the fixture of the rule that files use only what is below them.
package files

import "slices"

const (
	first = iota
	Const
)

var other, variable = first, Const

type base struct{}

func (base) inherited() {}

type Type struct {
	base
	field []int
}

func (t Type) method() int { return len(slices.Clone(t.field)) + other }

func Func() Type { return Type{} }

func generic[T any](v T) T { return v }
