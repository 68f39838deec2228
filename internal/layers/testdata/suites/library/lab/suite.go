// Scott 2013 is cited here, where no lock of the library is.
package lab

import (
	"locklab/harness"
	"locklab/library"
)

var Suite = []*harness.Variant{
	{Name: "good", Paper: "Anderson 1990", Local: func(harness.Setup) harness.Local { return harness.Shared(new(library.Good)) }},
	{Name: "queue", Paper: "Craig 1993", Local: newQueue},
	{Name: "own", Paper: "Scott 2013"},
}

func newQueue(s harness.Setup) harness.Local { return harness.Handles(library.NewQueue(s.Workers)) }
