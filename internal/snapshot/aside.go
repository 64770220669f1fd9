// SPDX-License-Identifier: Apache-2.0

package snapshot

import "context"

// SetAside reports whether chunks of the array are set aside by an unfinished trim. Their
// keys then hold the chunks of before.
func (s *Array) SetAside(ctx context.Context) (bool, error) {
	for _, err := range s.Engine.Aside(ctx) {
		return err == nil, err
	}
	return false, nil
}
