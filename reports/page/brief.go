package page

import (
	"fmt"
	"regexp"
	"slices"

	"locklab/harness/result"
)

// Brief returns the answer of run and its main charts. Other links lead to details, the
// relative address of the page of [Report]. Without locks it returns the full report.
func Brief(run *result.Run, details string) *Document {
	doc := compose(run)
	if doc.Measured {
		doc.cut(details)
	}
	return &Document{form: "report", data: doc, details: details}
}

// cut removes what the page at details has and a first reading does not need.
func (doc *document) cut(details string) {
	doc.Details = details
	for i := range doc.Sections {
		doc.Sections[i].Figures = mainFigures(doc.Sections[i].Figures)
	}
	doc.Sections = slices.DeleteFunc(doc.Sections, func(s section) bool { return s.Folded || len(s.Figures) == 0 })
	doc.Tables = slices.CompactFunc(doc.Tables, func(a, b tableView) bool { return a.remote == b.remote }) // the first of each kind
	if doc.Safety != nil {
		doc.Safety.Brief, doc.Safety.Figures = true, mainFigures(doc.Safety.Figures)
	}
	doc.Ranked = mainFigures(doc.Ranked)
	doc.Checked, doc.Facts, doc.Modules, doc.glossary = "", nil, nil, glossary{}
	doc.Quality.Warnings, doc.Quality.Checks = doc.Quality.Top(), nil
}

// tabled are the charts whose figures are also in the tables.
var tabled = []string{"fairness", "fairness-distributed", "requests-distributed"}

func mainFigures(fs []figure) (out []figure) {
	for _, f := range fs {
		if f.Folded || f.Pic.Height == 0 || slices.Contains(tabled, f.Name) {
			continue
		}
		f.Rows, f.Omitted = nil, ""
		out = append(out, f)
	}
	return out
}

var (
	localRE  = regexp.MustCompile(`href="#([^"]+)"`)
	anchorRE = regexp.MustCompile(` id="([^"]+)"`)
)

func leadTo(details string, page []byte) []byte {
	here := make(map[string]bool)
	for _, m := range anchorRE.FindAllSubmatch(page, -1) {
		here[string(m[1])] = true
	}
	return localRE.ReplaceAllFunc(page, func(link []byte) []byte {
		if id := string(localRE.FindSubmatch(link)[1]); !here[id] {
			return fmt.Appendf(nil, `href="%s#%s"`, details, id)
		}
		return link
	})
}
