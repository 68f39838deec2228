package page

import (
	"strconv"
	"strings"
)

// safety writes the results of the failure scenarios.
func (m *markdown) safety(s *safetySection) {
	if s == nil {
		return
	}
	m.heading(2, s.Title)
	m.text(s.Answer)
	if !s.Tried() {
		m.text("To test that, and to draw this report with it:")
		m.code(s.Command)
		return
	}
	for _, text := range s.Sources {
		m.text(text)
	}
	head := append([]string{"lock", "what was seen of it"}, s.Guarantees...)
	var rows [][]string
	for _, l := range s.Locks {
		row := []string{l.Name, l.Class}
		for _, c := range l.Guarantees {
			row = append(row, c.Mark+" "+c.Text)
		}
		rows = append(rows, row)
	}
	m.table(head, rows)
	m.heading(3, "What did each scenario do to each lock?")
	m.text("✓ no harm in 59 tries or more (95 % upper bound 5 %). 0/3 no harm in 3 tries. ▲ two holders when a server is lost, a stale write or a token that fell, with in how many of 1000 faults. △ another harm. ! not expected. ○ expected and not shown. ? not tested.")
	rows = nil
	for _, l := range s.Locks {
		if !l.Tested {
			continue
		}
		row := []string{l.Name}
		for _, c := range l.Cells {
			row = append(row, strings.TrimSpace(c.Mark+" "+c.Figure))
		}
		rows = append(rows, row)
	}
	m.table(append([]string{"lock"}, s.Columns...), rows)
	for _, c := range s.Scenarios {
		m.scenario(c)
	}
	for _, f := range s.Figures {
		m.figure(f, f.Name)
	}
	m.items(s.Notes)
}

// scenario writes the figures of every lock in one scenario.
func (m *markdown) scenario(s safetyScenario) {
	m.open(s.Name + ": " + s.Question + " (" + s.Summary() + ")")
	text := s.Fault
	if s.Tests != nil {
		text += " Tests " + s.Tested() + "."
	}
	if s.Source != "" {
		text += " Source: " + s.Source
	}
	m.text(text)
	var rows [][]string
	for _, r := range s.Rows {
		seen := append([]string{r.Reading}, r.Aims...)
		rows = append(rows, []string{r.Lock, r.Verdict, r.Violations, r.Bound, r.Median, r.Most, r.Margin, strconv.Itoa(r.Tries), strings.Join(append(seen, r.Notes...), " · ")})
	}
	m.table([]string{"lock", "verdict", "violations in 1000", "bound (95 %)", "window p50", "greatest", "told before, least", "faults", "what was seen"}, rows)
	m.close()
}
