package files

import "slices"

// The types of what is used here follow from functions of another package.
func high(all []Type) int {
	for _, t := range slices.Clone(all) {
		t.inherited()
		generic(t.field)
		return t.method() + variable + Const
	}
	return len(slices.Concat(all, []Type{Func()}))
}
