package evidence

import (
	"bytes"
	"fmt"
	"locklab/atomics"
	"locklab/harness/result"
)

// Find returns the listing of the running binary as a finding for a report. The error is
// that of [Capture].
func Find() (*result.Finding, error) {
	ls, err := Capture()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := Write(&text, ls); err != nil {
		return nil, err
	}
	marked := 0
	for _, l := range ls {
		for _, line := range l.Lines {
			if line.Atomic {
				marked++
			}
		}
	}
	return &result.Finding{
		Name:     "evidence",
		Question: "Which instructions make an operation one step for every other CPU?",
		Method: "The text of the running binary is disassembled: sync/atomic as the compiler inlined it, and each primitive written in assembly. " +
			"An arrow marks the atomic instructions.",
		Source: "the binary itself",
		Answer: fmt.Sprintf("A compare-and-swap is %s here. The listing shows %d operations and marks %d atomic instructions in them.",
			atomics.CASName(), len(ls), marked),
		Listing: text.String(),
	}, nil
}
