package zklock

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// ErrNoCheck is ErrUsage, returned by IsOwner for a lease that no operation can check: of a lock
// without Options.Checkable, or of a Cohort that hands its ticket on.
var ErrNoCheck = fmt.Errorf("%w: the lease cannot be checked by an operation", ErrUsage)

// IsOwner returns operations for a transaction (zk.Conn.Multi) on the same servers, on any
// connection. The transaction succeeds only if this lease, or another one of the same [Owner],
// holds the lock at that time. So data in ZooKeeper needs no fencing token:
//
//	ops, err := lease.IsOwner()
//	…
//	_, err = conn.Multi(append(ops, &zk.SetDataRequest{Path: "/state", Data: data, Version: -1})...)
//
// If the lock is not held, Multi returns zk.ErrNoNode or zk.ErrBadVersion. There is one
// operation, or one for each path of a [Multi]. They need the right to read the tickets.
//
// Each operation checks the lease's ticket, which exists while the lock is held, has a unique
// name, and is deleted in the transaction that releases the lock. The tickets of a [Mutex] and
// of a writer must also have version 0, because a write to them is a release. Others may be
// written to while the lock is held.
//
// A [Mutex], a [Multi] and a [RWMutex] need [Options].Checkable. Without it the names of their
// tickets are numbers, which restart when the node of the lock is recreated and then may name
// other tickets. The error wraps ErrNoCheck.
func (l *Lease) IsOwner() ([]any, error) {
	if l.check != nil {
		check := *l.check
		return []any{&check}, nil
	}
	var ops []any
	for _, part := range l.parts {
		op, err := part.IsOwner()
		if err != nil {
			return nil, err
		}
		ops = append(ops, op...)
	}
	if ops == nil {
		return nil, fmt.Errorf("%w: lock %s", ErrNoCheck, l.q.name)
	}
	return ops, nil
}

func (t *ticket) check() *zk.CheckVersionRequest {
	switch {
	case t.p.remove != nil && !t.unnamed: // it may be plain
		return nil
	case t.sealed:
		return &zk.CheckVersionRequest{Path: t.path(), Version: 0}
	default:
		return &zk.CheckVersionRequest{Path: t.path(), Version: -1}
	}
}
