package library

// Forgotten is a lock that the lab has no variant of.
type Forgotten struct{}

func NewForgotten(workers int) *Forgotten { return nil }

func (*Forgotten) Worker(i int) *handle { return nil }

type handle struct{}

func (*handle) Lock() {}

type inner struct{}

func (*inner) Lock() {}
