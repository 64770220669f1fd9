//go:build race

package racing

// Detector reports whether the race detector is at work.
const Detector = true
