package chaos

import (
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

// The lab and a worker process exchange JSON, one value per line: commands on standard
// input, answers and events on standard output. Credentials go through the pipe only.

// A command is an instruction to a worker. Each has one answer, except judged.
type command struct {
	ID     int    `json:"id"`
	Do     string `json:"do"`
	Worker int    `json:"worker"`

	Open    *opening      `json:"open,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // of Lock; 0 is no limit
	Shared  bool          `json:"shared,omitempty"`
	Loop    *Loop         `json:"loop,omitempty"`
}

const (
	doOpen      = "open"       // connect, as a new client or as another worker of a client
	doLock      = "lock"       // answered when granted or failed
	doTry       = "try"        //
	doUnlock    = "unlock"     // the last acquisition
	doOuter     = "outer"      // unlock the first acquisition
	doAgain     = "again"      // repeat the last unlock
	doWrite     = "write"      // to the guarded resource
	doWriteHeld = "write held" // if the lease has not ended
	doLoop      = "loop"       // begin to lock and unlock; answered at once
	doStop      = "stop"       // end the loop and any waiting Lock; answered when done
	doJudged    = "judged"     // the resource has judged a write
)

type opening struct {
	Lock string           `json:"lock"`
	Key  string           `json:"key"`
	At   harness.Endpoint `json:"at"`
	With int              `json:"with"` // worker whose client it joins; -1 for a new client

	Username, Password string `json:",omitempty"` // At leaves them out
}

// A Loop describes how a worker repeatedly locks and unlocks: as fast as it can if zero.
type Loop struct {
	Hold, Think time.Duration

	// Random draws each hold and think time uniformly from 0 to twice its value.
	Random bool

	// Quiet leaves out the writes.
	Quiet bool

	Seed uint64
}

// A message comes from a worker process: the answer to a command, an event, a write that
// awaits its outcome, or a delay.
type message struct {
	ID    int    `json:"id,omitempty"`    // of the command it answers
	Error string `json:"error,omitempty"` // of the command
	Kind  int    `json:"kind,omitempty"`  // of the error: see kinds

	Delay *oracle.Delay `json:"delay,omitempty"` // the process did not run; if from equals to, it runs

	Worker int           `json:"worker"`
	Event  *oracle.Event `json:"event,omitempty"`
	Write  bool          `json:"write,omitempty"`
	Token  uint64        `json:"token,omitempty"`
	Shared bool          `json:"shared,omitempty"`
}
