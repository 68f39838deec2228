package layers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A layer is files of one package of the same rank.
type layer struct {
	name  string
	doc   string // what is in them
	files []string
}

// fileLayers says of the files of a package what ranks says of packages, lowest
// layer first: the code of a file uses only what files of lower layers declare, be
// it a function, a type, a method, a field, a variable or a constant. Two files of
// one layer do not use each other. So a file can be read with no other in mind than
// those below it, and a chart can be taken away with its line in suite.go. A file
// that is not here fails the test. Tests may use what they like.
var fileLayers = map[string][]layer{
	"reports": {
		{"words", "marks, terms and addresses", []string{"doc.go", "format.go", "slug.go", "status.go", "terms.go"}},
		{"sources", "where figures come from", []string{"source.go"}},
		{"palette", "colours; what a picture is", []string{"palette.go", "picture.go"}},
		{"styles", "lettering, scales of colour", []string{"heatscale.go", "style.go"}},
		{"data", "the run in texts of bounded length; its groups, its findings; pictures inside a page", []string{"faults.go", "finding.go", "group.go", "inline.go", "origin.go", "sheet.go", "tidy.go"}},
		{"parts", "axes, labels, columns of figures; what a dimension changes", []string{"axes.go", "columns.go", "drift.go", "fairness.go", "label.go", "machines.go", "missing.go", "simulated.go", "single.go", "sweep.go"}},
		{"frames", "pictures of a kind; what a chart is; kinds of warnings", []string{"census.go", "chart.go", "computed.go", "density.go", "forest.go", "machines_match.go", "multiples.go", "ranking.go", "rates.go", "rows.go", "sheet_bars.go", "sheet_curves.go", "sheet_heat.go"}},
		{"curves", "frames made of frames; the quality of a run", []string{"floor.go", "lines.go", "painters.go", "quality.go", "ranking_draw.go", "standing.go"}},
		{"effects", "what charts of a dimension share", []string{"effect.go", "load.go"}},
		{"charts", "a file each", []string{
			"chart_best.go", "chart_clients.go", "chart_delay.go", "chart_garbage.go", "chart_goodput.go", "chart_handovers.go", "chart_hold.go", "chart_jain.go", "chart_ladder.go", "chart_load.go",
			"chart_lorenz.go", "chart_owners.go", "chart_pareto.go", "chart_pin.go", "chart_ranking.go", "chart_read.go", "chart_requests.go", "chart_roundtrips.go", "chart_section.go",
			"chart_servers.go", "chart_shape.go", "chart_shares.go", "chart_shortterm.go", "chart_spread.go", "chart_think.go", "chart_throughput.go", "chart_time.go",
			"chart_wait.go", "chart_wait_policy.go", "history.go", "machines_charts.go", "machines_overlay.go", "safety_cost.go", "simulated_draw.go", "changes.go",
		}},
		{"list", "the charts in their order", []string{"safety_charts.go", "simulated_charts.go", "suite.go"}},
		{"reasons", "what was checked; what would change a verdict; what distance costs; all locks next to a baseline", []string{"change.go", "checked.go", "distance.go", "table.go"}},
		{"many contenders", "what they do", []string{"crowd.go"}},
		{"sections", "what a page says; what many contenders cost", []string{"crowd_charts.go", "crowd_cost.go", "glossary.go", "lead.go", "study.go", "summary.go"}},
		{"document", "all that a page says; a chart alone", []string{"document.go", "render.go"}},
		{"models", "what models of machines expect", []string{"compose_simulated.go"}},
		{"composition", "what locks survive; writers of text", []string{"compose_safety.go", "markdown_text.go", "text.go"}},
		{"composition of all", "the document of a run; pieces of Markdown", []string{"compose.go", "distance_text.go", "markdown_parts.go"}},
		{"safety in Markdown", "what locks survive; many contenders in text", []string{"crowd_text.go", "markdown_safety.go"}},
		{"pages", "HTML and Markdown; the documents of several machines and of several runs", []string{"changes_compose.go", "html.go", "machines_compose.go", "markdown.go"}},
		{"machines", "the pages of several machines, and of several runs", []string{"changes_write.go", "machines_write.go"}},
	},
}

// A use is one thing that a file declares and another one uses.
type use struct{ from, to, name string }

// checkFiles returns an error for each use between the files of the package in dir
// that plan does not allow, and for each file in which the two differ. It counts the
// uses.
func checkFiles(dir string, plan []layer) (n int, err error) {
	var errs []error
	rank := make(map[string]int)
	for i, s := range plan {
		if s.name == "" || s.doc == "" {
			errs = append(errs, fmt.Errorf("layer %d has no name, or does not say what is in it", i))
		}
		for _, f := range s.files {
			if _, twice := rank[f]; twice {
				errs = append(errs, fmt.Errorf("%s stands twice in the plan", f))
			}
			rank[f] = i
		}
	}
	us, files, err := fileUses(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if _, ok := rank[f]; !ok {
			errs = append(errs, fmt.Errorf("%s stands in no layer: add it to fileLayers in internal/layers/files.go", f))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(rank)) {
		if !slices.Contains(files, f) {
			errs = append(errs, fmt.Errorf("%s stands in the plan, but not in %s", f, dir))
		}
	}
	for _, u := range us {
		from, planned := rank[u.from]
		to, also := rank[u.to]
		if planned && also && to >= from {
			errs = append(errs, fmt.Errorf("%s (%s) uses %s of %s (%s), which is not below it", u.from, plan[from].name, u.name, u.to, plan[to].name))
		}
	}
	return len(us), errors.Join(errs...)
}

// fileUses returns what the files of the package in dir use of each other, each thing
// once for each two files, and the names of the files; tests are left out.
func fileUses(dir string) (out []use, names []string, err error) {
	info, files, set, err := typed(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		names = append(names, filepath.Base(set.Position(f.Pos()).Filename))
	}
	seen := make(map[use]bool)
	for id, o := range info.Uses {
		if o.Pkg() == nil || o.Pkg().Path() != dir {
			continue // another package may have a file of the same name
		}
		u := use{filepath.Base(set.Position(id.Pos()).Filename), filepath.Base(set.Position(o.Pos()).Filename), o.Name()}
		if u.from != u.to && !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b use) int {
		return cmp.Or(strings.Compare(a.from, b.from), strings.Compare(a.to, b.to), strings.Compare(a.name, b.name))
	})
	return out, names, nil
}

// typed returns the files of the package in dir, tests left out, with the meaning of
// each name in them. Of the packages that they import it reads what the compiler
// left, since to read their source takes ten times as long.
func typed(dir string) (*types.Info, []*ast.File, *token.FileSet, error) {
	if err := touch(dir); err != nil {
		return nil, nil, nil, err
	}
	list, err := goList(dir, build{}, "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", ".")
	if err != nil {
		return nil, nil, nil, err
	}
	compiled := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		compiled[path] = file
	}
	list, err = goList(dir, build{}, "-f", `{{range .GoFiles}}{{.}} {{end}}`, ".")
	if err != nil {
		return nil, nil, nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range strings.Fields(string(list)) {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		text, err := os.ReadFile(compiled[path])
		return io.NopCloser(bytes.NewReader(text)), err
	})}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	_, err = conf.Check(dir, set, files, info)
	return info, files, set, err
}
