package complete

import "locklab/harness"

// John M. Mellor-Crummey and Michael L. Scott, ACM TOCS 9(1), 1991, Algorithm 5.
var made = variant("made")

func variant(name string) *harness.Variant { return &harness.Variant{Name: name} }
