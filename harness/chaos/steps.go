package chaos

// A stopped is the panic of a step that failed. It ends the goroutine of Scenario.Try or
// of a lock in [Try.Each]; other goroutines must call only steps that return an error.
type stopped struct{ err error }

// steps runs f and returns the error of the step that failed.
func steps(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// check ends the steps if err is not nil.
func check(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}
