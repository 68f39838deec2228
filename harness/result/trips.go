package result

// Trips is the network use of a distributed lock, counted in a dry run without delay or
// timing. A trip is between a client and a server, caused by the one before. Messages that no
// client waits for, such as a cleanup, are requests, not trips.
type Trips struct {
	Lock   Leg `json:"lock"`   // of a client alone: from asking to the grant
	Unlock Leg `json:"unlock"` // of a client alone: from releasing to the return

	// Behind covers clients that wait behind one another; nil if several may hold the
	// lock at once.
	Behind *TripsBehind `json:"behind,omitempty"`
}

// TripsBehind is the network use of three clients that take the lock in turn.
type TripsBehind struct {
	Queue    Leg `json:"queue"`    // from asking until it only waits
	Handover Leg `json:"handover"` // from the release of one client to the grant of the next
	Unlock   Leg `json:"unlock"`   // from releasing to the return

	// Requests is the number of messages of all clients from one release to the next.
	Requests float64 `json:"requests"`

	// Polls reports that waiters ask again on their own, such as after a pause.
	// Handover is then meaningless, because trips are not the lock's only delay.
	Polls bool `json:"polls,omitempty"`
}

type Leg struct {
	Halves   int     `json:"halves"`   // trips from a client to a server or back, one after the other
	Requests float64 `json:"requests"` // messages that the clients sent, waited for or not
}

// RoundTrips returns half of Halves.
func (l Leg) RoundTrips() float64 { return float64(l.Halves) / 2 }
