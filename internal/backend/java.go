package backend

// Java returns the program that runs Java: of JAVA_HOME, else Homebrew's, else
// that on PATH. It starts nothing. The error wraps [harness.ErrUnavailable].
func Java() (string, error) { return findJava(host()) }
