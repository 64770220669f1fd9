//go:build !race

package codectest

// few limits the inputs that are tried at every byte; longer ones are tried at some places.
const few = 150
