//go:build systematic && simulate

package simulate

import (
	"strings"
	"testing"
)

func TestChecker(t *testing.T) {
	for _, tc := range []struct {
		name  string
		wrong func(s *sim, l *line, a, b *core)
		want  string // "" if it is legal
	}{
		{"one owner", func(s *sim, l *line, a, b *core) { s.check.all() }, ""},
		{"the owner writes and reads", func(s *sim, l *line, a, b *core) { s.check.written(l, a); s.check.read(l, a); s.check.all() }, ""},
		{"copies", func(s *sim, l *line, a, b *core) {
			l.owner = none
			s.fill(l, b.cache)
			s.check.read(l, b)
			s.check.all()
		}, ""},
		{"a copy beside the owner", func(s *sim, l *line, a, b *core) { s.fill(l, b.cache); s.check.all() }, "line 0 has an owner, cache 0, beside 2 copies"},
		{"another one writes", func(s *sim, l *line, a, b *core) { s.check.written(l, b) }, "core 1 writes line 0, M or E at cache 0"},
		{"a write to a shared line", func(s *sim, l *line, a, b *core) { l.owner = none; s.fill(l, b.cache); s.check.written(l, a) }, "core 0 writes line 0, S in 2 caches"},
		{"an old copy", func(s *sim, l *line, a, b *core) { s.fill(l, b.cache); s.check.written(l, a); s.check.read(l, b) }, "core 1 reads version 0 of line 0, which has 1"},
		{"a request is forgotten", func(s *sim, l *line, a, b *core) { l.queue = []*request{{}}; s.check.all() }, "line 0 serves none of 1 requests"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSim(plain(), 1)
			s.check = &checker{s: s}
			a, b := &core{s: s, id: 0, cache: 0}, &core{s: s, id: 1, cache: 1}
			l := &line{owner: 0}
			s.order = []*line{l}
			s.fill(l, 0)
			tc.wrong(s, l, a, b)
			switch {
			case tc.want == "" && s.failure != nil:
				t.Errorf("error %v of a state that is right", s.failure)
			case tc.want != "" && (s.failure == nil || !strings.Contains(s.failure.Error(), tc.want)):
				t.Errorf("error %v, want %q", s.failure, tc.want)
			}
		})
	}
}
