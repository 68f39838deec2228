package harness

// Trips is what a lock kept by servers does with the network, counted from its
// messages in a rehearsal that is neither timed nor delayed: how many trips between a
// client and a server follow one another, each caused by the one before. Messages that
// no client waits for, such as what a client tidies up behind a release, are requests and
// no trips.
type Trips struct {
	Lock   Leg `json:"lock"`   // of a client alone: from asking to the grant
	Unlock Leg `json:"unlock"` // of a client alone: from releasing to the return

	// Behind is what clients do of which one waits behind another; nil if several may
	// hold the lock at once.
	Behind *TripsBehind `json:"behind,omitempty"`
}

// TripsBehind is Trips of three clients that take the lock in turn.
type TripsBehind struct {
	Queue    Leg `json:"queue"`    // from asking until it has nothing to do but wait
	Handover Leg `json:"handover"` // from the release of one client to the grant of the next
	Unlock   Leg `json:"unlock"`   // from releasing to the return

	// Requests is how many messages all clients sent from one release to the next: what
	// an acquisition behind others takes in all.
	Requests float64 `json:"requests"`

	// Polls says that waiters ask again of their own accord, such as after a pause:
	// then Handover says nothing, for what the lock takes is not made of trips alone.
	Polls bool `json:"polls,omitempty"`
}

// A Leg is a part of an acquisition.
type Leg struct {
	Halves   int     `json:"halves"`   // trips from a client to a server or back, one after the other
	Requests float64 `json:"requests"` // messages that the clients sent, whether or not they were waited for
}

// RoundTrips returns the trips of l in round trips.
func (l Leg) RoundTrips() float64 { return float64(l.Halves) / 2 }
