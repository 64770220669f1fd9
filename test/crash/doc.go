// SPDX-License-Identifier: Apache-2.0

// Package crash stops the machine, or makes a request fail, before every operation of
// every kind of change, and checks that the next program finds the old state or the new
// one.
package crash
