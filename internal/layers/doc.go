// Package layers tests the structure of this repository: which package may import which
// ([rules]), the modules that it requires, that the libraries' documentation is for their
// users, that other modules can use them, and that every lock is in its family's Suite.
package layers
