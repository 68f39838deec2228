package oracle

// An Anomaly is a kind of damage that a failure may do to the users of a lock.
type Anomaly string

// The anomalies. One try of a scenario may show any number of them.
const (
	// TwoHolders: the lock was granted while another client held it. That client had
	// neither released the lock nor received notice of its loss.
	TwoHolders Anomaly = "two holders"

	// StaleWrite: the resource accepted a write after one of a successor, though it rejects
	// tokens less than the greatest seen, if the lock has any.
	StaleWrite Anomaly = "stale write"

	// TokenFell: a later holder's token was not greater.
	TokenFell Anomaly = "token fell"

	// Stall: a free lock was not granted for longer than detection of the failure and
	// a handover take.
	Stall Anomaly = "stall"

	// Stuck: at the end of the try clients still waited for a free lock, or every
	// attempt to take it failed.
	Stuck Anomaly = "stuck"

	// LeftBehind: at the end of the try a key or a ticket remained of a client that
	// neither holds nor waits.
	LeftBehind Anomaly = "left behind"

	// Overtaken: a client was granted the lock before one that had waited longer,
	// although the lock claims to serve in order.
	Overtaken Anomaly = "overtaken"

	// Storm: waiting clients sent requests without a pause.
	Storm Anomaly = "storm"

	// Misled: a call returned a wrong result, such as a successful release of a lock not held.
	Misled Anomaly = "misled"

	// Lost: a running holder lost the lock although its server ran and was reachable:
	// its lease was not renewed.
	Lost Anomaly = "lost"
)

// Anomalies lists every anomaly.
var Anomalies = []Anomaly{TwoHolders, StaleWrite, TokenFell, Stall, Stuck, LeftBehind, Overtaken, Storm, Misled, Lost}
