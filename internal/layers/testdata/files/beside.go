package files

func beside() { Func() }
