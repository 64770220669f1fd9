// Package layers holds the packages of the core module to their order, by its tests.
//
// Every package has a layer, and what is not a test imports lower layers only. So a
// package can be read, tested and used with those below it alone, and nothing below it
// has to change when it does.
package layers
