package backend

// Java returns the program that runs Java: from JAVA_HOME, else Homebrew's, else from PATH. It
// starts nothing. The error wraps [harness.ErrUnavailable].
func Java() (string, error) { return findJava(host()) }
