package main

import (
	"locklab/cmd/locklab/catalog"
	"locklab/lab"
)

func main() {
	lab.Main(lab.Program{Name: "locklab", Version: "0.1.0", Locks: catalog.All(), Defaults: catalog.Defaults})
}
