package oracle

const pageSize = 1 << 12

// pages is a list that grows without copying, unlike a slice.
type pages[T any] struct {
	of [][]T
	n  int
}

func (p *pages[T]) add(v T) int {
	if p.n%pageSize == 0 {
		p.of = append(p.of, make([]T, 0, min(pageSize, max(64, p.n))))
	}
	last := &p.of[len(p.of)-1]
	*last = append(*last, v)
	p.n++
	return p.n - 1
}

func (p *pages[T]) at(i int) *T { return &p.of[i/pageSize][i%pageSize] }

func (p *pages[T]) all() []T {
	if p.n == 0 {
		return nil
	}
	all := make([]T, 0, p.n)
	for i, page := range p.of {
		all = append(all, page...)
		p.of[i] = nil
	}
	*p = pages[T]{}
	return all
}
