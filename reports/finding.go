package reports

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
)

// stopped is said of an experiment that ended early.
const stopped = "Interrupted: the figures are of what was finished."

// findings returns what the experiments of run found.
func findings(run *resultfile.Run) []*harness.Finding {
	return slices.DeleteFunc(slices.Clone(run.Findings), func(f *harness.Finding) bool { return f == nil })
}

// slug returns the name of f, number i of the run, as part of an address or of
// a file's name. One that is not fit for that is replaced.
func slug(f *harness.Finding, i int) string {
	if !nameRE.MatchString(f.Name) || len(f.Name) > 60 {
		return fmt.Sprintf("finding-%d", i+1)
	}
	return f.Name
}

// title returns the question of f.
func title(f *harness.Finding) string {
	switch {
	case f.Question != "":
		return f.Question
	case f.Name != "":
		return f.Name
	}
	return "An experiment without a question"
}

// answer returns the answer of f.
func answer(f *harness.Finding) string {
	if f.Answer == "" {
		return "The experiment gave no answer."
	}
	return f.Answer
}

// readable returns w in whole sentences.
func readable(w harness.Warning) harness.Warning {
	return harness.Warning{Text: numfmt.Sentence(w.Text), Remedy: numfmt.Sentence(w.Remedy), Kind: w.Kind}
}
