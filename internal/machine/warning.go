package machine

// A Warning is evidence that a measurement is less reliable than it seems.
type Warning struct {
	Text   string `json:"text"`   // the defect, with its figure
	Remedy string `json:"remedy"` // the user's remedy

	// Kind is the subject of the warning in one word, such as "governor": the same for the
	// same fault on every machine. It is "" for warnings that need no distinction.
	Kind string `json:"kind,omitempty"`
}
