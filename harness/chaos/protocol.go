package chaos

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

// The two sides of a worker process talk in JSON, a value a line: commands on its
// standard input, answers and events on its standard output. Credentials go through
// the pipe only.

// A command is what a worker is to do. Each is answered once, but for taken.
type command struct {
	ID     int    `json:"id"`
	Do     string `json:"do"`
	Worker int    `json:"worker"`

	Open    *opening      `json:"open,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // of Lock; 0 is none
	Shared  bool          `json:"shared,omitempty"`
	Loop    *Loop         `json:"loop,omitempty"`
	Taken   bool          `json:"taken,omitempty"`
}

// What a worker can do.
const (
	doOpen      = "open"       // connect, as a client of its own or as another worker of one
	doLock      = "lock"       // answered when it is granted or has failed
	doTry       = "try"        //
	doUnlock    = "unlock"     // what was acquired last
	doOuter     = "outer"      // unlock what was acquired first
	doAgain     = "again"      // unlock what was unlocked last once more
	doWrite     = "write"      // to what the lock guards
	doWriteHeld = "write held" // if the lease has not ended
	doLoop      = "loop"       // begin to lock and unlock; answered at once
	doStop      = "stop"       // end that, and any Lock that waits; answered when it has
	doClose     = "close"      // the client
	doPing      = "ping"       // answered at once
	doTook      = "took"       // what became of a write
)

// opening is how a worker connects.
type opening struct {
	Lock string           `json:"lock"`
	Key  string           `json:"key"`
	At   harness.Endpoint `json:"at"`
	With int              `json:"with"` // whose client it joins; -1 for one of its own

	Username, Password, ServerName string `json:",omitempty"`
	TLS                            bool   `json:",omitempty"`
	Roots                          []byte `json:",omitempty"`
}

func (o *opening) endpoint() harness.Endpoint {
	at := o.At
	at.Username, at.Password = o.Username, o.Password
	if o.TLS {
		at.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
		if len(o.Roots) > 0 {
			at.TLS.RootCAs = x509.NewCertPool()
			at.TLS.RootCAs.AppendCertsFromPEM(o.Roots)
		}
	}
	return at
}

// A Loop is how a worker locks and unlocks again and again. Its zero value does so
// as fast as it can.
type Loop struct {
	Hold, Think time.Duration

	// Random draws each hold and think time evenly from 0 to twice what is said.
	Random bool

	// Timeout is how long it waits for the lock; 0 is for ever. A worker that
	// does not get it tries again after Pause.
	Timeout time.Duration
	Pause   time.Duration // 0 is 10 ms

	// Try uses TryLock, with Pause between the tries.
	Try bool

	// Shared locks for reading, where the lock has readers.
	Shared bool

	// Blind makes the holder write at the end of its section without asking its lease
	// whether it still holds the lock, as after a pause between the question and the
	// write. Otherwise a holder that was told writes no more.
	Blind bool

	// Quiet leaves out the writes.
	Quiet bool

	Seed uint64
}

// A delay is a time in which a process was kept from running.
type delay struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// A message is what a worker process says: the answer to a command, an event, a
// write that waits to be taken, or when it did not run.
type message struct {
	ID    int    `json:"id,omitempty"`    // of the command it answers
	Error string `json:"error,omitempty"` // of that
	Kind  string `json:"kind,omitempty"`  // of the error: see the errors of package harness

	Delay *delay `json:"delay,omitempty"` // the process did not run, or from and to are one and it runs

	Worker int           `json:"worker"`
	Event  *oracle.Event `json:"event,omitempty"`
	Write  int           `json:"write,omitempty"` // its number, for the answer
	Token  uint64        `json:"token,omitempty"`
	Shared bool          `json:"shared,omitempty"`
}
