package chart

import (
	"fmt"
	"slices"

	"locklab/harness/result"
)

// Stopped is the note on an experiment that ended early.
const Stopped = "Interrupted: the figures are of what was finished."

func Findings(run *result.Run) []*result.Finding {
	return slices.DeleteFunc(slices.Clone(run.Findings), func(f *result.Finding) bool { return f == nil })
}

// Slug returns a suitable name of f, number i of the run, for an address or file name.
func Slug(f *result.Finding, i int) string {
	if !NameRE.MatchString(f.Name) || len(f.Name) > 60 {
		return fmt.Sprintf("finding-%d", i+1)
	}
	return f.Name
}

func Title(f *result.Finding) string {
	switch {
	case f.Question != "":
		return f.Question
	case f.Name != "":
		return f.Name
	}
	return "An experiment without a question"
}

func Answer(f *result.Finding) string {
	if f.Answer == "" {
		return "The experiment gave no answer."
	}
	return f.Answer
}
