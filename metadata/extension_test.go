// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestExtensionJSON checks that extensions keep their spelling in other JSON, and that
// invalid ones are refused there.
func TestExtensionJSON(t *testing.T) {
	for _, text := range []string{`["bytes",{"name":"zstd","configuration":{"level":3}}]`, `[]`} {
		var list []Extension
		err := json.Unmarshal([]byte(text), &list)
		if raw, failed := json.Marshal(list); err != nil || failed != nil || string(raw) != text {
			t.Errorf("%s becomes %s, %v", text, raw, err)
		}
	}
	for _, text := range []string{`[7]`, `[{"configuration":{}}]`, `[{"name":"zstd","level":3}]`} {
		var list []Extension
		if err := json.Unmarshal([]byte(text), &list); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error is %v, want ErrInvalid", text, err)
		}
	}
}
