// SPDX-License-Identifier: Apache-2.0

// Package failure defines the errors of the command. It rewords messages for the
// command line: flags instead of Go fields, and no names of Go packages.
//
// Errors end the command with status 1, usage errors with status 2, and work that is done
// but for something that was left out with status 3. The sentinel that an error matches
// determines its kind in JSON.
package failure
