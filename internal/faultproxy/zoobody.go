package faultproxy

import "locklab/internal/wire"

var zooNames = map[int32]string{
	wire.OpCreate: "create", wire.OpDelete: "delete", wire.OpExists: "exists", wire.OpGetData: "getData", wire.OpSetData: "setData",
	wire.OpGetACL: "getACL", wire.OpSetACL: "setACL", wire.OpGetChildren: "getChildren", wire.OpSync: "sync", wire.OpPing: "ping",
	wire.OpGetChildren2: "getChildren2", wire.OpCheck: "check", wire.OpMulti: "multi", wire.OpCreate2: "create2",
	wire.OpRemoveWatches: "removeWatches", wire.OpCreateContainer: "createContainer", wire.OpCreateTTL: "createTTL",
	wire.OpMultiRead: "multiRead", wire.OpAuth: "auth", wire.OpSetWatches: "setWatches", wire.OpSetWatches2: "setWatches2",
	wire.OpAddWatch: "addWatch", wire.OpCloseSession: "closeSession", wire.OpError: "error",
}

// A ZooRequest is the part of a ZooKeeper request that matters for a lock. What is missing in a
// message that ends too early is zero; the same holds for a ZooReply and a ZooEvent.
type ZooRequest struct {
	Xid        int32
	Op         string // "connect" for the handshake, "" if unknown
	Path       string
	Flags      int32 // of creates, see Ephemeral and Sequential
	Version    int32 // required version in delete, setData, check; -1 for any
	DataLength int   // of creates and setData
	Watch      bool
	Watches    []string // of setWatches: paths of all kinds
	Ops        []ZooRequest
}

// Ephemeral reports whether a create makes a node that ends with the session.
func (r *ZooRequest) Ephemeral() bool { return r.Flags == 1 || r.Flags == 3 }

// Sequential reports whether the server numbers the node of a create.
func (r *ZooRequest) Sequential() bool { return r.Flags == 2 || r.Flags == 3 || r.Flags == 6 }

// A ZooReply is the answer to a request.
type ZooReply struct {
	Err        int32    // 0, or a code such as [NoNode]
	Path       string   // of creates and sync
	Children   []string // of getChildren
	DataLength int      // of getData
	HasStat    bool
	Version    int32 // of the node, if HasStat
	Ops        []ZooReply
}

// Error codes relevant to a lock (KeeperException.Code in ZooKeeper 3.8).
const (
	NoNode         = -101
	BadVersion     = -103
	NodeExists     = -110
	NotEmpty       = -111
	SessionExpired = -112
)

// A ZooEvent is a watch that fired, or a change of the session.
type ZooEvent struct {
	Type  int32 // see the constants
	State int32
	Path  string
}

// The types of watch events (Watcher.Event.EventType in ZooKeeper 3.8).
const (
	NodeCreated         = 1
	NodeDeleted         = 2
	NodeDataChanged     = 3
	NodeChildrenChanged = 4
)

func readRequest(body []byte) (*ZooRequest, int32) {
	j := wire.NewRecord(body)
	xid, code := j.Int(), j.Int()
	r := request(j, code)
	r.Xid = xid
	if code == wire.OpMulti || code == wire.OpMultiRead {
		for part, done := multiHeader(j); !done; part, done = multiHeader(j) {
			r.Ops = append(r.Ops, request(j, part))
		}
	}
	return &r, code
}

func multiHeader(j *wire.Record) (code int32, done bool) {
	code, done = j.Int(), j.Bool()
	j.Int() // error: repeated in the part
	return code, done || j.Short()
}

func request(j *wire.Record, code int32) ZooRequest {
	r := ZooRequest{Op: zooNames[code]}
	switch code {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path = j.Text()
		r.DataLength = len(j.Buffer())
		acl(j)
		r.Flags = j.Int()
	case wire.OpDelete, wire.OpCheck:
		r.Path, r.Version = j.Text(), j.Int()
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		r.Path, r.Watch = j.Text(), j.Bool()
	case wire.OpSetData:
		r.Path = j.Text()
		r.DataLength = len(j.Buffer())
		r.Version = j.Int()
	case wire.OpGetACL, wire.OpSetACL, wire.OpSync, wire.OpRemoveWatches, wire.OpAddWatch:
		r.Path = j.Text()
	case wire.OpSetWatches, wire.OpSetWatches2:
		j.Long() // relative zxid
		for range 3 {
			r.Watches = append(r.Watches, j.Texts()...)
		}
		if code == wire.OpSetWatches2 { // persistent ones, with and without depth
			r.Watches = append(append(r.Watches, j.Texts()...), j.Texts()...)
		}
	}
	return r
}

func readReply(body []byte, code int32) *ZooReply {
	j := wire.NewRecord(body)
	j.Skip(4 + 8) // xid, zxid
	r := ZooReply{Err: j.Int()}
	switch {
	case j.Short():
	case code == wire.OpMulti || code == wire.OpMultiRead:
		if j.Left() == 0 {
			break // refused as a whole
		}
		for part, done := multiHeader(j); !done; part, done = multiHeader(j) {
			var op ZooReply
			reply(j, part, &op)
			r.Ops = append(r.Ops, op)
		}
	case r.Err == 0:
		reply(j, code, &r)
	}
	return &r
}

func reply(j *wire.Record, code int32, r *ZooReply) {
	switch code {
	case wire.OpCreate, wire.OpSync:
		r.Path = j.Text()
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path = j.Text()
		r.stat(j)
	case wire.OpExists, wire.OpSetData, wire.OpSetACL:
		r.stat(j)
	case wire.OpGetData:
		r.DataLength = len(j.Buffer())
		r.stat(j)
	case wire.OpGetChildren:
		r.Children = j.Texts()
	case wire.OpGetChildren2:
		r.Children = j.Texts()
		r.stat(j)
	case wire.OpError:
		r.Err = j.Int()
	}
}

func readEvent(body []byte) *ZooEvent {
	j := wire.NewRecord(body)
	j.Skip(4 + 8 + 4) // reply header
	return &ZooEvent{Type: j.Int(), State: j.Int(), Path: j.Text()}
}

func acl(j *wire.Record) {
	j.Each(func() { j.Int(); j.Buffer(); j.Buffer() })
}

func (r *ZooReply) stat(j *wire.Record) {
	j.Skip(4 * 8) // czxid, mzxid, ctime, mtime
	r.HasStat, r.Version = true, j.Int()
	j.Skip(4 + 4 + 8 + 4 + 4 + 8) // cversion, aversion, owner, data length, children, pzxid
}
