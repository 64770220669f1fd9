// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"errors"
	"fmt"
	"testing"
)

func TestNew(t *testing.T) {
	one, other := New("one: not supported", ErrUnsupported), New("one: not supported", ErrUnsupported)
	wrapped := fmt.Errorf("reading: %w", one)
	if !errors.Is(wrapped, one) || !errors.Is(wrapped, ErrUnsupported) {
		t.Errorf("%v is neither %v nor %v", wrapped, one, ErrUnsupported)
	}
	if errors.Is(wrapped, other) {
		t.Error("two errors with one text are the same")
	}
	if got, want := wrapped.Error(), "reading: one: not supported"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}
