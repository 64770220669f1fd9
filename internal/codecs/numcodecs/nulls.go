// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/json"
	"maps"
	"slices"
)

// WithoutNulls returns a configuration without the members that are null, for programs
// that write so every option that is not set. If there are names, it drops members of
// these only. It returns anything but an object unchanged.
func WithoutNulls(configuration []byte, names ...string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(configuration, &members) != nil || members == nil {
		return configuration
	}
	maps.DeleteFunc(members, func(name string, v json.RawMessage) bool {
		return string(v) == "null" && (len(names) == 0 || slices.Contains(names, name))
	})
	out, err := json.Marshal(members)
	if err != nil {
		return configuration
	}
	return out
}
