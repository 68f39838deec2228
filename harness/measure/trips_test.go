package measure

import (
	"strings"
	"testing"
)

// toldEvents parses a timeline into events: "A>1" is request 1 of client A, "A<1" the answer to
// it, "A!" a notification from the server to A; "A>1/2" is to server 2.
func toldEvents(timeline string) (events []event) {
	for word := range strings.FieldsSeq(timeline) {
		word, server, _ := strings.Cut(word, "/")
		e := event{id: callID{client: int(word[0] - 'A'), server: len(server), conn: 1}}
		switch word[1] {
		case '>':
			e.kind = request
		case '<':
			e.kind = tripAnswer
		case '!':
			e.kind = notice
		}
		if e.kind != notice {
			e.id.call = int(word[2] - '0')
		}
		events = append(events, e)
	}
	return events
}

// TestReckon: sequential trips behind the second client's state, in a step that A begins.
func TestReckon(t *testing.T) {
	for _, test := range []struct {
		name, timeline string
		of             int // the client
		want           stamp
		requests       float64
	}{
		{"nothing", "", 0, stamp{0, true}, 0},
		{"one round trip", "A>1 A<1", 0, stamp{2, true}, 1},
		{"two, one after the other", "A>1 A<1 A>2 A<2", 0, stamp{4, true}, 2},
		{"two at once", "A>1 A>2 A<1 A<2", 0, stamp{2, true}, 2},
		{"a third after the first of two", "A>1 A>2 A<1 A>3 A<2 A<3", 0, stamp{4, true}, 3},
		{"one that is not answered yet", "A>1", 0, stamp{0, true}, 1},
		{"two servers at once", "A>1 A>2/x A<1 A<2/x", 0, stamp{2, true}, 2},

		{"a release, and a notification of it", "A>1 B! A<1", 1, stamp{2, true}, 1},
		{"the answer to a request in which B waited", "A>1 B<9 A<1", 1, stamp{2, true}, 1},
		{"a notification, upon which B asks", "A>1 A<1 B! B>1 B<1", 1, stamp{4, true}, 2},
		{"A tidies up while B asks", "A>1 B! A<1 A>2 B>1 A<2 A>3 B<1 A<3", 1, stamp{4, true}, 4},
		{"a release in two requests, the second tells", "A>1 A<1 A>2 B! A<2", 1, stamp{4, true}, 2},
		{"all are told, and C is last", "A>1 B! C! A<1 B>1 B<1 C>1 C<1", 1, stamp{4, true}, 3},

		{"B asks of its own accord", "A>1 A<1 B>1 B<1", 1, stamp{2, false}, 2},
		{"B asks again and again", "A>1 A<1 B>1 B<1 B>2 B<2", 1, stamp{4, false}, 3},
		{"B has asked before it is told", "B>1 A>1 B<1 A<1 B!", 1, stamp{2, true}, 2},
		{"told by a server that heard nothing", "B!", 1, stamp{1, false}, 0},
		{"told by the other server", "A>1 B!/x A<1", 1, stamp{1, false}, 1},
	} {
		events := toldEvents(test.timeline)
		r := reckon(events, 0)
		if got := r.known[test.of]; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		if got := requests(events); got != test.requests {
			t.Errorf("%s: %v requests, want %v", test.name, got, test.requests)
		}
	}
	if got := reckon(toldEvents("A>1 A>2"), 0).sent[0]; got != (stamp{1, true}) {
		t.Errorf("two requests on their way: %+v, want one trip", got)
	}
}

// TestLeast: replies that come by chance before a request leaves do not count.
func TestLeast(t *testing.T) {
	l := legs{halves: []float64{4, 4, 2, 4, 4}, requests: []float64{3, 3, 3, 5, 3}}
	if got := l.least(); got.Halves != 2 || got.Requests != 3 {
		t.Errorf("%+v, want 2 halves and 3 requests", got)
	}
}
