// Package e2e holds no code: its tests prove the whole router, as built, with real
// traffic over real links between network namespaces, against GoBGP and BIRD.
// They need Linux and root and skip without, saying so; ROUTERD_E2E=require makes
// such a skip a failure.
package e2e
