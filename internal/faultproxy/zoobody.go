package faultproxy

// Operation codes (ZooDefs.OpCode in ZooKeeper 3.8).
const (
	zooCreate          = 1
	zooDelete          = 2
	zooExists          = 3
	zooGetData         = 4
	zooSetData         = 5
	zooGetACL          = 6
	zooSetACL          = 7
	zooGetChildren     = 8
	zooSync            = 9
	zooPing            = 11
	zooGetChildren2    = 12
	zooCheck           = 13
	zooMulti           = 14
	zooCreate2         = 15
	zooRemoveWatches   = 18
	zooCreateContainer = 19
	zooCreateTTL       = 21
	zooMultiRead       = 22
	zooAuth            = 100
	zooSetWatches      = 101
	zooSetWatches2     = 105
	zooAddWatch        = 106
	zooClose           = -11
	zooError           = -1
)

var zooNames = map[int32]string{
	zooCreate: "create", zooDelete: "delete", zooExists: "exists", zooGetData: "getData", zooSetData: "setData",
	zooGetACL: "getACL", zooSetACL: "setACL", zooGetChildren: "getChildren", zooSync: "sync", zooPing: "ping",
	zooGetChildren2: "getChildren2", zooCheck: "check", zooMulti: "multi", zooCreate2: "create2",
	zooRemoveWatches: "removeWatches", zooCreateContainer: "createContainer", zooCreateTTL: "createTTL",
	zooMultiRead: "multiRead", zooAuth: "auth", zooSetWatches: "setWatches", zooSetWatches2: "setWatches2",
	zooAddWatch: "addWatch", zooClose: "closeSession", zooError: "error",
}

// A ZooRequest is the part of a ZooKeeper request that matters for a lock. Passwords and
// data are not kept.
type ZooRequest struct {
	Xid        int32
	Op         string // "connect" for the handshake, "" if unknown
	Path       string
	Flags      int32 // of creates, see Ephemeral and Sequential
	Version    int32 // required version in delete, setData, check; -1 for any
	DataLength int   // of creates and setData
	Watch      bool
	Watches    []string // of setWatches: paths of all kinds
	Session    int64    // of connect: 0 for a new session
	Timeout    int32    // of connect, ms
	Ops        []ZooRequest
	Short      bool // the message ended too early; the rest is zero
}

// Ephemeral reports whether a create makes a node that ends with the session.
func (r *ZooRequest) Ephemeral() bool { return r.Flags == 1 || r.Flags == 3 }

// Sequential reports whether the server numbers the node of a create.
func (r *ZooRequest) Sequential() bool { return r.Flags == 2 || r.Flags == 3 || r.Flags == 6 }

// A ZooReply is the answer to a request.
type ZooReply struct {
	Xid        int32
	Zxid       int64
	Err        int32    // 0, or a code such as [NoNode]
	Path       string   // of creates and sync
	Children   []string // of getChildren
	DataLength int      // of getData
	Stat       *ZooStat // if the reply has one
	Session    int64    // of connect
	Timeout    int32    // of connect, ms
	Ops        []ZooReply
	Short      bool // as in ZooRequest
}

// Error codes relevant to a lock (KeeperException.Code in ZooKeeper 3.8).
const (
	NoNode         = -101
	BadVersion     = -103
	NodeExists     = -110
	NotEmpty       = -111
	SessionExpired = -112
)

// A ZooStat is the essential part of a node's stat.
type ZooStat struct {
	Czxid, Mzxid, Pzxid int64
	Version, Cversion   int32
	Owner               int64 // session of an ephemeral node, else 0
	DataLength          int32
	Children            int32
}

// A ZooEvent is a watch that fired, or a change of the session.
type ZooEvent struct {
	Type  int32 // see the constants
	State int32
	Path  string
	Short bool // as in ZooRequest
}

// The types of watch events (Watcher.Event.EventType in ZooKeeper 3.8).
const (
	NodeCreated         = 1
	NodeDeleted         = 2
	NodeDataChanged     = 3
	NodeChildrenChanged = 4
)

func readConnect(body []byte) *ZooRequest {
	j := &jute{b: body}
	j.take(4 + 8) // protocol version, last zxid
	r := &ZooRequest{Op: "connect", Timeout: j.int(), Session: j.long()}
	r.Short = j.bad
	return r
}

func readConnected(body []byte) *ZooReply {
	j := &jute{b: body}
	j.take(4) // protocol version
	r := &ZooReply{Timeout: j.int(), Session: j.long()}
	r.Short = j.bad
	return r
}

func readRequest(body []byte) (*ZooRequest, int32) {
	j := &jute{b: body}
	xid, code := j.int(), j.int()
	r := j.request(code)
	r.Xid = xid
	if code == zooMulti || code == zooMultiRead {
		for part, done := j.multiHeader(); !done; part, done = j.multiHeader() {
			r.Ops = append(r.Ops, j.request(part))
		}
	}
	r.Short = j.bad
	return &r, code
}

// multiHeader returns the operation of the next part of a multi, and true after the last.
func (j *jute) multiHeader() (code int32, done bool) {
	code, done = j.int(), j.bool()
	j.int() // error: repeated in the part
	return code, done || j.bad
}

func (j *jute) request(code int32) ZooRequest {
	r := ZooRequest{Op: zooNames[code]}
	switch code {
	case zooCreate, zooCreate2, zooCreateContainer, zooCreateTTL:
		r.Path = j.string()
		r.DataLength = len(j.buffer())
		j.acl()
		r.Flags = j.int()
	case zooDelete, zooCheck:
		r.Path, r.Version = j.string(), j.int()
	case zooExists, zooGetData, zooGetChildren, zooGetChildren2:
		r.Path, r.Watch = j.string(), j.bool()
	case zooSetData:
		r.Path = j.string()
		r.DataLength = len(j.buffer())
		r.Version = j.int()
	case zooGetACL, zooSetACL, zooSync, zooRemoveWatches, zooAddWatch:
		r.Path = j.string()
	case zooSetWatches, zooSetWatches2:
		j.long() // relative zxid
		for range 3 {
			r.Watches = append(r.Watches, j.strings()...)
		}
		if code == zooSetWatches2 { // persistent ones, with and without depth
			r.Watches = append(append(r.Watches, j.strings()...), j.strings()...)
		}
	}
	return r
}

func readReply(body []byte, code int32) *ZooReply {
	j := &jute{b: body}
	r := ZooReply{Xid: j.int(), Zxid: j.long(), Err: j.int()}
	switch {
	case j.bad:
	case code == zooMulti || code == zooMultiRead:
		if len(j.b) == 0 {
			break // refused as a whole
		}
		for part, done := j.multiHeader(); !done; part, done = j.multiHeader() {
			var op ZooReply
			j.reply(part, &op)
			r.Ops = append(r.Ops, op)
		}
	case r.Err == 0:
		j.reply(code, &r)
	}
	r.Short = j.bad
	return &r
}

func (j *jute) reply(code int32, r *ZooReply) {
	switch code {
	case zooCreate, zooSync:
		r.Path = j.string()
	case zooCreate2, zooCreateContainer, zooCreateTTL:
		r.Path, r.Stat = j.string(), j.stat()
	case zooExists, zooSetData, zooSetACL:
		r.Stat = j.stat()
	case zooGetData:
		r.DataLength = len(j.buffer())
		r.Stat = j.stat()
	case zooGetChildren:
		r.Children = j.strings()
	case zooGetChildren2:
		r.Children, r.Stat = j.strings(), j.stat()
	case zooError:
		r.Err = j.int()
	}
}

func readEvent(body []byte) *ZooEvent {
	j := &jute{b: body}
	j.take(4 + 8 + 4) // reply header
	e := &ZooEvent{Type: j.int(), State: j.int(), Path: j.string()}
	e.Short = j.bad
	return e
}
