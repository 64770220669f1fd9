//go:build !linux

package pages

// advise does nothing: there is no such advice, or the system decides by itself.
func advise([]byte, bool) {}
