package measure

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/machine"
)

// lengths draws the lengths of a Span, in a unit such as iterations.
type lengths struct {
	mean    int64 // or the constant
	exp     bool
	values  []int64 // of a mixture; else nil
	weights []uint64
	total   uint64 // of the weights, under 1<<32
	rng     *machine.Random
}

func newLengths(s harness.Span, rng *machine.Random, unit func(time.Duration) int64) lengths {
	l := lengths{mean: unit(s.Mean), exp: s.Exp, rng: rng}
	for length, weight := range s.Parts() {
		l.values, l.weights = append(l.values, unit(length)), append(l.weights, uint64(weight))
		l.total += uint64(weight)
	}
	return l
}

func (l *lengths) draw() int64 {
	switch {
	case l.exp:
		return int64(l.rng.Exp(float64(l.mean)) + 0.5)
	case l.values == nil:
		return l.mean
	}
	x := l.rng.Uint64() >> 32 * l.total >> 32
	i := 0
	for x >= l.weights[i] {
		x -= l.weights[i]
		i++
	}
	return l.values[i]
}

// A spinner spends a Span as calibrated work. A hold's spinner may also change data.
type spinner struct {
	some  bool // there is something to do
	plain bool // the number of iterations is constant
	lengths

	data   structure // may be nil
	worker int       // the worker that changes the data
}

func newSpinner(work machine.Work, s harness.Span, rng *machine.Random) spinner {
	l := newLengths(s, rng, func(d time.Duration) int64 { return int64(work.Iterations(d)) })
	return spinner{some: l.mean != 0, plain: !l.exp && l.values == nil, lengths: l}
}

// guard makes every span change data: read before the work, written after it.
func (s *spinner) guard(data structure, worker int) {
	if data != nil {
		s.some, s.plain, s.data, s.worker = true, false, data, worker
	}
}

// spend is small enough to inline, without a test for data: an empty span must cost nothing.
func (s *spinner) spend() {
	if s.some {
		s.work()
	}
}

func (s *spinner) work() {
	if s.plain {
		machine.Do(int(s.mean))
		return
	}
	n := int(s.draw())
	if s.data == nil {
		machine.Do(n)
		return
	}
	at, value := s.data.find(s.rng)
	machine.Do(n)
	s.data.write(s.worker, at, value)
}

// A sleeper spends a Span without using the CPU, which the servers may need. Without an alarm
// a span of 0.1 ms may last 1.1 ms, but not in the Java process of a peer.
type sleeper struct {
	lengths
	alarm *machine.Alarm
}

func newSleeper(s harness.Span, rng *machine.Random, alarm *machine.Alarm) sleeper {
	return sleeper{newLengths(s, rng, time.Duration.Nanoseconds), alarm}
}

func (s *sleeper) spend() {
	if d := time.Duration(s.draw()); d > 0 && !s.alarm.Sleep(d) {
		time.Sleep(d)
	}
}

// Unguarded returns why v cannot guard the data of w's section, or "".
func Unguarded(v *harness.Variant, w harness.Workload) string {
	switch {
	case w.Section == harness.SectionWork:
	case v.Local == nil:
		return "its workers share no memory, as a distributed lock is for processes"
	case v.Traits.Permits > 1:
		return fmt.Sprintf("%d workers may hold it at once", v.Traits.Permits)
	case w.Reads > 0 && v.Traits.ReadWrite:
		if _, ok := v.Local(harness.Setup{Workers: 1}).Worker(0).(harness.OptimisticReader); ok {
			return "its readers read while a writer writes"
		}
	}
	return ""
}

// A structure is the data of a harness.Section, not atomic. A worker reads on entry and writes
// before it leaves, so two inside lose a write or corrupt the data.
type structure interface {
	// find chooses an element with rng and returns it with its value.
	find(rng *machine.Random) (at, value uint64)

	// write changes the element from find.
	write(worker int, at, value uint64)

	// read reports whether the data it read was consistent.
	read(rng *machine.Random) bool

	// audit returns the writes in the data and its flaw, or "". No worker may be inside.
	audit() (writes uint64, flaw string)
}

func newStructure(s harness.Section) structure {
	switch s {
	case harness.SectionWork:
		return nil
	case harness.SectionMap:
		t := make(table, structureKeys)
		for key := range uint64(structureKeys) {
			t[key] = 0
		}
		return t
	case harness.SectionLRU:
		return newCache()
	case harness.SectionLog:
		return &journal{entries: make([]byte, 0, journalSize)}
	}
	return make(lines, s.Lines())
}

// lines are counters that rise together.
type lines []struct {
	n uint64
	_ [atomics.CacheLine - 8]byte
}

func (l lines) find(*machine.Random) (at, value uint64) { return 0, l[0].n }

func (l lines) write(_ int, _, value uint64) {
	for i := range l {
		l[i].n = value + 1
	}
}

func (l lines) read(*machine.Random) bool {
	whole := true
	for i := range l {
		whole = whole && l[i].n == l[0].n
	}
	return whole
}

func (l lines) audit() (writes uint64, flaw string) {
	for i := range l {
		if l[i].n != l[0].n {
			return l[0].n, fmt.Sprintf("line %d of %d shows %d writes, the first %d", i+1, len(l), l[i].n, l[0].n)
		}
	}
	return l[0].n, ""
}

// The keys of a table and of a cache, and the number of keys that a cache keeps.
const (
	structureKeys = 1024
	cacheSize     = structureKeys / 2
)

func drawKey(rng *machine.Random) uint64 { return rng.Uint64() % structureKeys }

// A table counts the writes of each key. All keys are in it from the beginning, so that it
// does not grow in a window.
type table map[uint64]uint64

func (t table) find(rng *machine.Random) (at, value uint64) {
	at = drawKey(rng)
	return at, t[at]
}

func (t table) write(_ int, at, value uint64) { t[at] = value + 1 }

func (t table) read(rng *machine.Random) bool {
	_, known := t[drawKey(rng)]
	return known
}

func (t table) audit() (writes uint64, flaw string) {
	found := 0
	for key, n := range t {
		if key >= structureKeys {
			return writes, fmt.Sprintf("the map has the key %d, which was not written", key)
		}
		found++
		writes += n
	}
	if found != structureKeys || len(t) != structureKeys {
		flaw = fmt.Sprintf("the map counts %d keys, %d were found, and %d were put in", len(t), found, structureKeys)
	}
	return writes, flaw
}

// A cache counts the writes of each key since its insertion, and all writes of evicted keys.
type cache struct {
	lru     *simplelru.LRU[uint64, uint64]
	evicted uint64 // writes of evicted keys
}

func newCache() *cache {
	c := new(cache)
	var err error
	if c.lru, err = simplelru.NewLRU(cacheSize, func(_, n uint64) { c.evicted += n }); err != nil {
		panic(err) // the size is a constant above zero
	}
	return c
}

// find does not mark the key as used: write does.
func (c *cache) find(rng *machine.Random) (at, value uint64) {
	at = drawKey(rng)
	value, _ = c.lru.Peek(at)
	return at, value
}

func (c *cache) write(_ int, at, value uint64) { c.lru.Add(at, value+1) }

func (c *cache) read(rng *machine.Random) bool {
	n, known := c.lru.Peek(drawKey(rng))
	return !known || n > 0
}

func (c *cache) audit() (writes uint64, flaw string) {
	defer func() {
		if err := recover(); err != nil { // its list differs from its count
			flaw = fmt.Sprintf("the cache is broken: %v", err)
		}
	}()
	writes = c.evicted
	keys := c.lru.Keys()
	for _, key := range keys {
		n, known := c.lru.Peek(key)
		if !known || n == 0 {
			flaw = fmt.Sprintf("the cache lists the key %d and does not have it", key)
		}
		writes += n
	}
	if len(keys) > cacheSize || len(keys) != c.lru.Len() {
		flaw = fmt.Sprintf("the cache lists %d keys, counts %d, and has room for %d", len(keys), c.lru.Len(), cacheSize)
	}
	return writes, flaw
}

const (
	journalSize = 64 << 10
	entrySize   = 32
)

// A journal is entries in the order of their numbers, from 0.
type journal struct {
	entries []byte
	before  uint64 // entries before the buffer was last reset
	late    uint64 // entries preceded by another one after find
}

func (j *journal) count() uint64 { return j.before + uint64(len(j.entries)/entrySize) }

func (j *journal) find(*machine.Random) (at, value uint64) { return 0, j.count() }

func (j *journal) write(worker int, _, value uint64) {
	if value != j.count() {
		j.late++
	}
	if len(j.entries)+entrySize > journalSize {
		j.before, j.entries = j.count(), j.entries[:0]
	}
	var entry [entrySize]byte
	binary.LittleEndian.PutUint64(entry[:], value)
	binary.LittleEndian.PutUint64(entry[8:], uint64(worker))
	j.entries = append(j.entries, entry[:]...)
}

func (j *journal) number(i int) uint64 { return binary.LittleEndian.Uint64(j.entries[i*entrySize:]) }

func (j *journal) read(*machine.Random) bool {
	n := len(j.entries) / entrySize
	return n == 0 || j.number(n-1) == j.before+uint64(n)-1
}

func (j *journal) audit() (writes uint64, flaw string) {
	if j.late > 0 {
		return j.count(), fmt.Sprintf("%d times the log grew while a worker was inside", j.late)
	}
	for i := range len(j.entries) / entrySize {
		if got, want := j.number(i), j.before+uint64(i); got != want {
			return j.count(), fmt.Sprintf("entry %d of the log has the number %d", want, got)
		}
	}
	return j.count(), ""
}
