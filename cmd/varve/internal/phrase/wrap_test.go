// SPDX-License-Identifier: Apache-2.0

package phrase

import "testing"

func TestWrap(t *testing.T) {
	text := "one two three four\nfive\n\nsix:\n  a   seven eight nine\n      ten\n  bb  eleven\n\n    as it stands, however long\ntwelve"
	want := `one two three
four five

six:
  a   seven
      eight
      nine ten
  bb  eleven

    as it stands, however long
twelve`
	if got := Wrap(text, 15); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
