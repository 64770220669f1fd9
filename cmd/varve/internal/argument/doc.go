// SPDX-License-Identifier: Apache-2.0

// Package argument parses arguments and flags that name axes, lengths and elements.
package argument
