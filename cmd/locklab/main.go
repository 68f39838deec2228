package main

import (
	"locklab/cmd/locklab/catalog"
	"locklab/lab"
)

func main() {
	lab.Main(lab.Program{Name: "locklab", Locks: catalog.All(), Defaults: catalog.Defaults})
}
