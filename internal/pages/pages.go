// Package pages asks the operating system for large pages where much memory is about to
// be filled: memory is handed out page by page when it is first touched, and of pages of
// 2 MiB that takes a third of the time that it takes of pages of 4 KiB.
package pages

// least is the size from which on advice is given, in bytes: with less, little is won of
// a call of the system.
const least = 4 << 20

// Large asks for large pages under memory of at least 4 MiB that is about to be filled.
// It is advice: where the system does not take it, or the memory was touched before, all
// is as it was. Only whole pages inside of the memory are meant, so that none is taken
// that was not asked for.
func Large(b []byte) {
	if len(b) >= least {
		advise(b, true)
	}
}

// Usual takes the advice of Large back once the memory is filled. Large pages stay, but
// when the memory is freed, and used for something else, the system does not make pages
// large again that were given back.
func Usual(b []byte) {
	if len(b) >= least {
		advise(b, false)
	}
}
