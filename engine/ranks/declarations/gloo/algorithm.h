// See gloo/context.h: nothing of this header is mentioned.
#pragma once
