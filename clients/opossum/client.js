import { serve } from '../kits/node/index.js';
import { adapter } from './adapter.js';

serve(adapter);
