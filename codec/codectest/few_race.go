//go:build race

package codectest

// few is less where the race detector makes everything slow that one goroutine does, in which it finds nothing; codecs are tested
// without it as well.
const few = 20
