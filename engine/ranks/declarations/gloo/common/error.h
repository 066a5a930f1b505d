// Stands in for Gloo's header of this name (see gloo/context.h); nothing of it is needed.
#pragma once
